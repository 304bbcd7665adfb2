/** `schema`: the events, or a document about the webhooks, as JSON. */
import { Event } from '../event/event.ts'
import { openApiOf } from '../schema/documents.ts'
import { jsonSchemaOf } from '../schema/jsonSchema.ts'
import type { OptionsOf } from './flags.ts'
import { choice, valueOf } from './options.ts'
import { FINE, type Terminal } from './terminal.ts'

export const schemaCommand = (flags: OptionsOf<'schema'>, { out, host }: Terminal, given: string): number => {
  const what = valueOf('WHAT', choice('events', 'openapi')(given, host.env))
  const makers = { events: () => jsonSchemaOf(Event), openapi: () => openApiOf(flags) }
  const made = makers[what]()
  // The codecs of headrace say what they take; a test makes both.
  if (made._tag === 'Right') out.line(JSON.stringify(made.right, null, 2))
  return FINE
}
