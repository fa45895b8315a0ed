import { messageOf, RequestError } from '../core/http.js';

/** What an error of the server says, with what helps to find it in the logs, and a button that tries again. */
export function LoadFailure({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }) {
  const { code, queryId } = error instanceof RequestError ? error : { code: undefined, queryId: undefined };
  const facts = [
    ...(code === undefined ? [] : [`code ${code}`]),
    ...(queryId === undefined ? [] : [`query ${queryId}`]),
  ];
  return (
    <div class="error" role="alert">
      <span>{messageOf(error)}</span>
      {facts.length > 0 && <span class="error-facts"> ({facts.join(', ')})</span>}{' '}
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
