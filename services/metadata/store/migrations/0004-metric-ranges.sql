-- Least and greatest metric number of a segment's rows; null where its file has no such column.
ALTER TABLE segments ADD COLUMN metric_first INTEGER;
ALTER TABLE segments ADD COLUMN metric_last INTEGER;
