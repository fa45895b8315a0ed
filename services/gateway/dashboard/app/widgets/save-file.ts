/** Lets the browser save a file that the page has made. */
export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  saveLink(name, url);
  // The browser has opened it by the next task.
  setTimeout(() => URL.revokeObjectURL(url));
}

/** Lets the browser save what a URL of the server returns, as it arrives. */
export function saveLink(name: string, url: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
}

/** Returns a text as part of the name of a file: letters, digits, `-`, `_` and `.` stay. */
export function fileNameOf(text: string): string {
  return (
    text
      .replace(/[^\p{L}\p{N}._-]+/gu, '-')
      .slice(0, 80)
      .replace(/^[-.]+|[-.]+$/g, '') || 'chart'
  );
}
