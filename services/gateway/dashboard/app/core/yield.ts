/** Lets the page handle input and draw, in the middle of long work. */
export function yieldToPage(): Promise<void> {
  return new Promise((resolve) => {
    // A timer would wait for at least 4 ms, after a few of them.
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(null);
  });
}
