/**
 * Maps the steps of an asynchronous sequence. A generator would do the same with several more promises for each item, which
 * small queries notice.
 */
export function mappedItems<T, U>(
  items: AsyncIterable<T>,
  map: (next: Promise<IteratorResult<T, unknown>>) => Promise<IteratorResult<U, unknown>>,
): AsyncIterable<U> {
  return {
    [Symbol.asyncIterator]() {
      const source = items[Symbol.asyncIterator]() as AsyncIterator<T, unknown>;
      return {
        next: () => map(source.next()),
        return: async () => {
          await source.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
