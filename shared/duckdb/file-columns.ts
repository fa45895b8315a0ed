/** Option of read_parquet: a folder `name=value` of the path would hide a column of that name, and files would be skipped. */
export const FILE_COLUMNS_ONLY = 'hive_partitioning = false';
