import { flag, oneOf, text } from './key.js';

/** Keys of the files that a listener with TLS needs. */
const CERTIFICATE_KEYS = {
  cert_path: text({ default: '', doc: 'PEM file with the certificate, followed by intermediate ones.' }),
  key_path: text({ default: '', doc: 'PEM file with the private key of the certificate, not encrypted.' }),
  watch: flag({
    default: true,
    doc: 'Load changed files within two seconds, for new connections. False: files are read at the start only.',
  }),
};

/** Keys of `[http.tls]`. */
export const HTTP_TLS_KEYS = {
  mode: oneOf(['disable', 'require'], {
    default: 'disable',
    doc: 'require: both HTTP listeners accept only TLS.',
  }),
  ...CERTIFICATE_KEYS,
} as const;

/** Keys of `[grpc.tls]`. */
export const GRPC_TLS_KEYS = {
  mode: oneOf(['disable', 'verify-ca', 'verify-full'], {
    default: 'disable',
    doc: 'Mutual TLS between the processes of a cluster; must be on or off in all of them. verify-ca: each peer needs a certificate that a CA of ca_cert_path has signed; verify-full: that of a called process must also name the address at which it is called. Standalone: not used.',
  }),
  ...CERTIFICATE_KEYS,
  ca_cert_path: text({
    default: '',
    doc: 'PEM file with the certificates of the CAs that peers are checked against.',
  }),
} as const;
