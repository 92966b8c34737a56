        if (item == $number && $place >= before && $place - before < taken) {
            const u32 at = $place, p = positions[at - before];
            $put
        }
