/** Tag bytes of fields that are bytes: series of a body, labels and samples of a series. */
export const SERIES_TAG = 0x0a;
export const LABEL_TAG = 0x0a;
export const SAMPLE_TAG = 0x12;
