import type { OpenFile } from './file-system.js';

/** Returns the file, but what is appended is durable when the call resolves. */
export function syncedFile(file: OpenFile): OpenFile {
  return {
    append: async (parts) => {
      await file.append(parts);
      await file.syncData();
    },
    read: (target, position) => file.read(target, position),
    syncData: () => file.syncData(),
    sync: () => file.sync(),
    truncate: (bytes) => file.truncate(bytes),
    close: () => file.close(),
  };
}
