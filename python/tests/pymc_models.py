"""Three models of PyMC, as its users write them, with data of their own."""

import numpy as np
import pymc as pm

RNG = np.random.default_rng(17)


def radon(observations=919, counties=85):
    """Partial pooling: an intercept and a slope for each county, not centred."""
    county = RNG.integers(0, counties, observations)
    floor = RNG.integers(0, 2, observations)
    levels = 1.4 + 0.3 * RNG.normal(size=counties)[county] - 0.7 * floor + 0.7 * RNG.normal(size=observations)
    with pm.Model() as model:
        mu_a, sigma_a = pm.Normal("mu_a", 0.0, 10.0), pm.Exponential("sigma_a", 1.0)
        mu_b, sigma_b = pm.Normal("mu_b", 0.0, 10.0), pm.Exponential("sigma_b", 1.0)
        a = mu_a + sigma_a * pm.Normal("z_a", 0.0, 1.0, shape=counties)
        b = mu_b + sigma_b * pm.Normal("z_b", 0.0, 1.0, shape=counties)
        sigma = pm.Exponential("sigma", 1.0)
        pm.Normal("y", a[county] + b[county] * floor, sigma, observed=levels)
    return model


def logistic(observations=10_000, features=20):
    """A logistic regression."""
    x = RNG.normal(size=(observations, features))
    y = RNG.random(observations) < 1 / (1 + np.exp(-x @ RNG.normal(size=features)))
    with pm.Model() as model:
        intercept, weights = pm.Normal("intercept", 0.0, 5.0), pm.Normal("weights", 0.0, 1.0, shape=features)
        pm.Bernoulli("y", logit_p=intercept + pm.math.dot(x, weights), observed=y)
    return model


def gaussian_process(points=500):
    """A Gaussian process with its noise, marginalized."""
    x = np.linspace(0, 10, points)[:, None]
    y = np.sin(x[:, 0]) + 0.2 * RNG.normal(size=points)
    with pm.Model() as model:
        length, height = pm.Gamma("length", 2.0, 1.0), pm.HalfNormal("height", 2.0)
        noise = pm.HalfNormal("noise", 1.0)
        process = pm.gp.Marginal(cov_func=height**2 * pm.gp.cov.ExpQuad(1, ls=length))
        process.marginal_likelihood("y", X=x, y=y, sigma=noise)
    return model


MODELS = {"radon": radon, "logistic": logistic, "gaussian_process": gaussian_process}
