import type { ClientCall } from '../../src/client/client.ts'
import type { CallType } from '../../src/client/message.ts'

export type Kind = CallType

/** A call of a kind, with `size` characters of padding. */
export const callOf = (
  messageId: string,
  { kind, user, size = 0 }: { readonly kind: Kind; readonly user: string; readonly size?: number },
): ClientCall => {
  const common = { messageId, userId: user, timestamp: '2026-01-01T00:00:00.000Z' }
  const data = size === 0 ? {} : { pad: 'x'.repeat(size) }
  switch (kind) {
    case 'identify':
      return { ...common, type: 'identify', traits: data }
    case 'track':
      return { ...common, type: 'track', event: 'Seen', properties: data }
    case 'page':
      return { ...common, type: 'page', properties: data }
    case 'screen':
      return { ...common, type: 'screen', name: 'Home', properties: data }
    case 'group':
      return { ...common, type: 'group', groupId: 'g', traits: data }
    case 'alias':
      return { ...common, type: 'alias', previousId: 'before', context: data }
  }
}
