/* Sets words of memory before others count in them. */
KERNEL void $name($parameters)
{
    const $index id = ($index)GID_0 * $group + ($index)LID_0;
    $sets
}
