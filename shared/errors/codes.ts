/**
 * All error codes, in one table: the number on the wire, the HTTP status, the gRPC status, and whether the
 * same request may succeed later.
 *
 * The numbers are public: clients compare them. gRPC numbers are those of the gRPC specification.
 */
export const ERROR_CODES = {
  unknown: { number: 1000, http: 500, grpc: 2, retry: false },
  unsupported: { number: 1001, http: 400, grpc: 12, retry: false },
  unexpected: { number: 1002, http: 500, grpc: 13, retry: false },
  internal: { number: 1003, http: 500, grpc: 13, retry: true },
  invalid_arguments: { number: 1004, http: 400, grpc: 3, retry: false },
  cancelled: { number: 1005, http: 504, grpc: 1, retry: false },
  illegal_state: { number: 1006, http: 500, grpc: 9, retry: false },
  external: { number: 1007, http: 503, grpc: 14, retry: true },
  deadline_exceeded: { number: 1008, http: 504, grpc: 4, retry: true },
  invalid_syntax: { number: 2000, http: 400, grpc: 3, retry: false },
  plan_query: { number: 3000, http: 400, grpc: 3, retry: false },
  execute_query: { number: 3001, http: 400, grpc: 3, retry: false },
  table_already_exists: { number: 4000, http: 400, grpc: 6, retry: false },
  table_not_found: { number: 4001, http: 400, grpc: 5, retry: false },
  column_not_found: { number: 4002, http: 400, grpc: 5, retry: false },
  column_exists: { number: 4003, http: 400, grpc: 6, retry: false },
  database_not_found: { number: 4004, http: 400, grpc: 5, retry: false },
  region_not_found: { number: 4005, http: 400, grpc: 5, retry: true },
  region_not_ready: { number: 4008, http: 503, grpc: 14, retry: true },
  region_busy: { number: 4009, http: 503, grpc: 14, retry: true },
  database_already_exists: { number: 4011, http: 400, grpc: 6, retry: false },
  storage_unavailable: { number: 5000, http: 503, grpc: 14, retry: true },
  request_outdated: { number: 5001, http: 503, grpc: 9, retry: false },
  resources_exhausted: { number: 6000, http: 500, grpc: 8, retry: true },
  rate_limited: { number: 6001, http: 429, grpc: 8, retry: true },
  user_not_found: { number: 7000, http: 401, grpc: 16, retry: false },
  user_password_mismatch: { number: 7002, http: 401, grpc: 16, retry: false },
  auth_header_not_found: { number: 7003, http: 401, grpc: 16, retry: false },
  invalid_auth_header: { number: 7004, http: 401, grpc: 16, retry: false },
  access_denied: { number: 7005, http: 403, grpc: 7, retry: false },
  permission_denied: { number: 7006, http: 403, grpc: 7, retry: false },
  flow_already_exists: { number: 8000, http: 400, grpc: 6, retry: false },
  flow_not_found: { number: 8001, http: 400, grpc: 5, retry: false },
  peer_not_trusted: { number: 7007, http: 500, grpc: 16, retry: false },
} as const;

/** Name of an error code, as used in the code and in logs. */
export type ErrorCode = keyof typeof ERROR_CODES;
