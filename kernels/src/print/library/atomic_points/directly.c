/* Each item folds its points into the table. */
KERNEL void $name($parameters)
{
    const $index id = ($index)GID_0 * $group + ($index)LID_0;
    if (id >= items) return;
$points
}
