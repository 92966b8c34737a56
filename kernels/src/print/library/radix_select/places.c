/* The elements at a few places of a row. Those that are among the elements around an earlier place are there
   already. */
KERNEL void $name($parameters)
{
    LOCAL_MEM K keys[$capacity];
    LOCAL_MEM u32 positions[$capacity], bins[$bins], sums[$group], found[4];
    const u32 item = LID_0;
    const u64 v = GID_0;
    const u64 row = v / parts;
    LINE
    const u32 begin = (u32)(v % parts) * length;
    const u32 m = n - begin < length ? n - begin : length;
    u32 covered = 0;
$places}
