/** The parts of the Arrow library that read results, apart so that the build leaves out its writers and builders. */
export { RecordBatchReader } from 'apache-arrow';
