import { TEXT } from '../openapi/schemas.js';
import { send } from '../reply.js';
import { htmlPage } from '../html-page.js';
import { STATE_GROUP, type AdminEndpoint } from './endpoint.js';

/** A page with links, for people who open the address in a browser. */
export const homeEndpoint: AdminEndpoint = {
  methods: ['GET'],
  path: '/',
  doc: {
    group: STATE_GROUP,
    isOpen: true,
    summary: 'Returns a page with links',
    replies: { 200: { description: 'HTML.', content: { 'text/html': TEXT } } },
    example: {},
  },
  handler: ({ version, dashboardUrl }) => {
    const page = htmlPage('Almanac', version, [
      ...(dashboardUrl === undefined ? [] : [{ href: dashboardUrl, text: 'Dashboard' }]),
      { href: 'v1/health', text: 'Health' },
      { href: 'status', text: 'Status' },
      { href: 'metrics', text: 'Metrics' },
      { href: 'config', text: 'Configuration' },
    ]);
    return (context) => send(context, page);
  },
};
