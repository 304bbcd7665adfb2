import type { Entry } from '../../outbox/oldOutbox.ts'
import type { MessageBatch } from '../Message.ts'

/** The entries that were handed out before they came to the disk: whoever works one goes on to know it by the id that it had then. */
export interface NamesInStore {
  readonly set: (id: string, storedAs: string) => void
  /** As the store knows it. */
  readonly toStored: (entry: Entry<MessageBatch>) => Entry<MessageBatch>
  /** As those know them who work them. */
  readonly fromStored: (entries: ReadonlyArray<Entry<MessageBatch>>) => ReadonlyArray<Entry<MessageBatch>>
  /** It has left the store. */
  readonly forget: (id: string) => void
}

/** No names yet: most stores never have any. */
export const namesInStore = (): NamesInStore => {
  const stored = new Map<string, string>()
  const before = new Map<string, string>()
  return {
    set: (id, storedAs) => {
      stored.set(id, storedAs)
      before.set(storedAs, id)
    },
    toStored: (entry) => {
      const id = stored.get(entry.id)
      return id === undefined ? entry : { ...entry, id }
    },
    fromStored: (entries) =>
      before.size === 0
        ? entries
        : entries.map((entry) => {
            const id = before.get(entry.id)
            return id === undefined ? entry : { ...entry, id }
          }),
    forget: (id) => {
      const storedAs = stored.get(id)
      if (storedAs === undefined) return
      stored.delete(id)
      before.delete(storedAs)
    },
  }
}
