/** Lets the browser save a file of the page's memory. */
export function saveFile(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the content after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
