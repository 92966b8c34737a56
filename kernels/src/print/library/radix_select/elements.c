        /* An item goes along its elements: `k` is the key of element `at`. */
        for (u32 start = item; start < m; start += $ahead * $group) {
            K own[$ahead];
#pragma unroll
            for (u32 j = 0; j < $ahead; j++) {
                const u32 next = start + j * $group, at = next < m ? next : item;
                own[j] = $key;
            }
#pragma unroll
            for (u32 j = 0; j < $ahead; j++) {
                const u32 at = start + j * $group;
                if (at >= m) continue;
                const K k = own[j];
$each            }
        }
