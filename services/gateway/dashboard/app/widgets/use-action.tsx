import { useSignal } from '@preact/signals';

import { messageOf } from '../core/http.js';

/** How the last action ended. */
interface ActionOutcome {
  readonly text: string;
  readonly isError: boolean;
}

/** Things that the user does on a screen, one at a time. */
export interface UserActions {
  readonly isRunning: boolean;
  /** Undefined before the first one, and while one runs. */
  readonly outcome: ActionOutcome | undefined;
  /** Runs one, unless another runs. @param work returns what to say when it is done. @returns whether it succeeded. */
  readonly run: (work: () => Promise<string>) => Promise<boolean>;
}

/** Keeps whether an action runs, and how the last one ended. */
export function useActions(): UserActions {
  const isRunning = useSignal(false);
  const outcome = useSignal<ActionOutcome | undefined>(undefined);
  const run = async (work: () => Promise<string>): Promise<boolean> => {
    if (isRunning.peek()) return false;
    isRunning.value = true;
    outcome.value = undefined;
    try {
      outcome.value = { text: await work(), isError: false };
      return true;
    } catch (error) {
      outcome.value = { text: messageOf(error), isError: true };
      return false;
    } finally {
      isRunning.value = false;
    }
  };
  return { isRunning: isRunning.value, outcome: outcome.value, run };
}

/** Says how the last action ended. */
export function ActionMessage({ actions: { outcome } }: { readonly actions: UserActions }) {
  if (outcome === undefined) return null;
  return (
    <p class={outcome.isError ? 'error' : 'good'} role={outcome.isError ? 'alert' : 'status'}>
      <bdi>{outcome.text}</bdi>
    </p>
  );
}
