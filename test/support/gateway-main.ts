/** A gateway in a process of its own, for tests that measure how long it keeps others waiting. Sends its URL. */
import { startGatewayRig } from './gateway-rig.js';

const rig = await startGatewayRig();
// Rows are not looked at: only receipt and decoding shall cost time.
rig.tables.write = (batches) => Promise.resolve({ rowCount: batches.rowCount, rejected: [] });
process.send?.(rig.url);
process.on('disconnect', () => process.exit());
