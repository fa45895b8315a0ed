/** Makes the browser confirm before the page is closed or loaded again, until the returned function is called. */
export function guardUnload(): () => void {
  const confirm = (event: BeforeUnloadEvent): void => event.preventDefault();
  addEventListener('beforeunload', confirm);
  return () => removeEventListener('beforeunload', confirm);
}
