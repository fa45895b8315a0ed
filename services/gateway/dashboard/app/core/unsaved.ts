/** Lets the browser ask before the page is closed or loaded again, until the returned function is called. */
export function guardUnload(): () => void {
  const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
  addEventListener('beforeunload', ask);
  return () => removeEventListener('beforeunload', ask);
}
