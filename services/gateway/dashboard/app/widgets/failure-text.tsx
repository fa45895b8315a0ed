/** What went wrong, above what was loaded before; nothing if the text is empty. */
export function FailureText({ text }: { readonly text: string }) {
  if (text === '') return null;
  return (
    <p class="error" role="alert">
      {text}
    </p>
  );
}
