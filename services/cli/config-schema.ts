import { GATEWAY_SECTIONS } from '#services/gateway/config';
import { composeSchema } from '#shared/config/schema';

/** Every configuration key of the program. Files are shared by all roles, so each role has the keys of all services. */
export const CONFIG_SCHEMA = composeSchema(GATEWAY_SECTIONS);
