//! Arguments that are all on the host, which threads may share.

use super::args::{Arg, ArgIn, Args, ArgsIn};
use super::callable::Function;
use super::each::EachArg;
use crate::error::{Error, Result};
use crate::value::Value;
use workalike_kernels::DType;

/// An argument on the host: an array, or a sequence of arrays.
#[derive(Clone, Debug)]
pub(crate) enum HostArg {
    Value(Value),
    Each(Value),
}

/// What plans know of an argument: its name if it was given by name, whether it is a sequence, dtype, shape.
pub(crate) type ArgSignature = (Option<String>, bool, DType, Vec<usize>);

/// The arguments of a call.
#[derive(Clone, Debug)]
pub(crate) struct HostArgs {
    positional: Vec<HostArg>,
    named: Vec<(String, HostArg)>,
}

impl HostArgs {
    /// The arguments of a call of this Function.
    ///
    /// # Errors
    /// If one of them is on a device.
    pub(crate) fn of(function: &Function, args: ArgsIn<'_>) -> Result<HostArgs> {
        let on_host = |arg: ArgIn<'_>| match arg {
            ArgIn::Value(value) => Ok(HostArg::Value(value)),
            ArgIn::Each(EachArg::Host(value)) => Ok(HostArg::Each(value)),
            _ => {
                let message = "the members of a group take arrays of the host, got one of a device".into();
                Err(Error::Call { function: function.name().into(), message })
            }
        };
        let (positional, named) = args.into_lists();
        let named = named.into_iter().map(|(name, arg)| Ok((name, on_host(arg)?)));
        Ok(HostArgs {
            named: named.collect::<Result<_>>()?,
            positional: positional.into_iter().map(on_host).collect::<Result<_>>()?,
        })
    }

    /// What plans know of them.
    pub(crate) fn signature(&self) -> Vec<ArgSignature> {
        let of = |name: Option<&String>, arg: &HostArg| {
            let (each, value) = match arg {
                HostArg::Value(value) => (false, value),
                HostArg::Each(value) => (true, value),
            };
            (name.cloned(), each, value.dtype(), value.shape().to_vec())
        };
        let named = self.named.iter().map(|(name, arg)| of(Some(name), arg));
        self.positional.iter().map(|arg| of(None, arg)).chain(named).collect()
    }

    /// The arguments of one iteration: zeros in the place of sequences' slices.
    pub(crate) fn stand_ins(&self) -> Result<HostArgs> {
        let of = |arg: &HostArg| match arg {
            HostArg::Value(value) => Ok(HostArg::Value(value.clone())),
            HostArg::Each(value) => {
                let each = EachArg::Host(value.clone());
                Ok(HostArg::Value(each.stand_in(each.len(), String::new)?))
            }
        };
        let named = self.named.iter().map(|(name, arg)| Ok((name.clone(), of(arg)?)));
        let positional = self.positional.iter().map(of);
        Ok(HostArgs { positional: positional.collect::<Result<_>>()?, named: named.collect::<Result<_>>()? })
    }

    /// The same arguments, each that is for an input replaced by what `change` makes of it and the input's
    /// position.
    pub(crate) fn changed(
        &self,
        function: &Function,
        change: impl Fn(usize, &HostArg) -> Result<HostArg>,
    ) -> Result<HostArgs> {
        let specs = function.inputs();
        let changed = |at: Option<usize>, arg: &HostArg| match at.filter(|&at| at < specs.len()) {
            Some(at) => change(at, arg),
            None => Ok(arg.clone()),
        };
        let named = self.named.iter().map(|(name, arg)| {
            let at = specs.iter().position(|spec| spec.name.as_ref() == Some(name));
            Ok((name.clone(), changed(at, arg)?))
        });
        let positional = self.positional.iter().enumerate().map(|(at, arg)| changed(Some(at), arg));
        Ok(HostArgs { positional: positional.collect::<Result<_>>()?, named: named.collect::<Result<_>>()? })
    }
}

impl From<HostArg> for Arg {
    fn from(arg: HostArg) -> Arg {
        match arg {
            HostArg::Value(value) => Arg::Value(value),
            HostArg::Each(value) => Arg::Each(EachArg::Host(value)),
        }
    }
}

impl From<HostArgs> for Args {
    fn from(args: HostArgs) -> Args {
        let positional = args.positional.into_iter().fold(Args::new(), Args::with);
        args.named.into_iter().fold(positional, |all, (name, arg)| all.named(&name, arg))
    }
}
