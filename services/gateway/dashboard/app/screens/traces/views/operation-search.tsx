import { setParameters } from '../../../core/route.js';
import { findText } from '../traces-state.js';

/** The field for words that an operation or its service must have. */
export function OperationSearch() {
  return (
    <input
      type="search"
      aria-label="Find operations"
      placeholder="Find operations"
      value={findText}
      onInput={({ currentTarget: { value } }) => setParameters({ find: value || undefined }, { replaces: true })}
    />
  );
}
