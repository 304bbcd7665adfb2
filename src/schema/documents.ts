/** OpenAPI 3.1 of webhooks, out of the codecs that make their bodies. */
import type * as t from 'io-ts'
import { isRight, left, right, type Either } from '../core/either.ts'
import { hasFunctions, isRecord } from '../core/json.ts'
import { checkOptions, guarded, strict, text, withDefault } from '../core/options.ts'
import type { Fault } from '../core/refusal.ts'
import { WireBody } from '../event/webhookBody.ts'
import { schemaIn, type JsonSchema } from './jsonSchema.ts'

const [page, screen, identify, track, alias, group, deletion] = WireBody.types

/** The codecs of the seven bodies that a destination sends, by their names in a document. */
export const webhookBodies = { page, screen, identify, track, alias, group, delete: deletion }

/** What a document describes. */
export interface DocumentOptions {
  /** Default: Webhooks. */
  readonly title?: string
  /** The version of your interface. Default: 1.0.0. */
  readonly version?: string
  /** Codecs of the bodies by name: `A-Z a-z 0-9 . _ -`. Default: `webhookBodies`. */
  readonly bodies?: Readonly<Record<string, t.Mixed>>
}

type DocumentBodies = NonNullable<DocumentOptions['bodies']>

const areCodecs = (it: unknown): it is DocumentBodies =>
  isRecord(it) && Object.values(it).every((each) => hasFunctions(each, ['decode']))
const documentOptions = strict({
  title: withDefault(text, 'Webhooks'),
  version: withDefault(text, '1.0.0'),
  bodies: withDefault(guarded('codecs by name', areCodecs), webhookBodies),
})

const SHA1 = '^[0-9a-f]{40}$'
const base64 = '[A-Za-z0-9+/]{43}='
const HEADERS = {
  'X-Signature': ['Lower-case hex HMAC-SHA1 of the raw body. Absent without a shared secret.', SHA1],
  'webhook-id': [
    'Standard Webhooks: the id of the message, the same for each attempt. Absent without a standard secret.',
    '^[!-~]+$',
  ],
  'webhook-timestamp': ['Standard Webhooks: seconds since 1970 at which the attempt began.', '^[0-9]+$'],
  'webhook-signature': [
    'Standard Webhooks: base64 HMAC-SHA256 of id.timestamp.body, one for each secret.',
    `^v1,${base64}( v1,${base64})*$`,
  ],
} as const

const parameters = Object.entries(HEADERS).map(([name, [description, pattern]]) => ({
  ...{ name, in: 'header', required: false, description, schema: { type: 'string', pattern } },
}))

/** The schemas of all bodies and of what they refer to, or all faults. */
const schemasOf = (bodies: DocumentBodies): Either<ReadonlyArray<Fault>, JsonSchema> => {
  // A recursive codec does not take the name of a body.
  const defs: Record<string, JsonSchema> = Object.fromEntries(Object.keys(bodies).map((name) => [name, {}]))
  const names = new Map<t.Mixed, string>()
  const faults: Fault[] = []
  const made = Object.entries(bodies).map(([name, codec]) => {
    if (!/^[\w.-]+$/.test(name)) faults.push({ path: name, message: 'must be a name of A-Z a-z 0-9 . _ -' })
    const schema = schemaIn(codec, { prefix: '#/components/schemas/', defs, names })
    if (isRight(schema)) return [name, schema.right] as const
    const under = (path: string): string => `${name}${path === '' || path.startsWith('[') ? '' : '.'}${path}`
    faults.push(...schema.left.map((fault) => ({ ...fault, path: under(fault.path) })))
    return [name, {}] as const
  })
  return faults.length > 0 ? left(faults) : right({ ...defs, ...Object.fromEntries(made) })
}

/**
 * An OpenAPI 3.1 document with a webhook for each body, for the receivers of your webhooks. Left has a fault
 * for each part of a body that does not say what it takes. It throws a ConfigError for wrong options.
 *
 * @example
 * import { openApiOf } from 'headrace/schema'
 *
 * const document = openApiOf({ title: 'Webhooks of my shop' })
 * if (document._tag === 'Right') console.log(document.right.openapi) // => 3.1.0
 */
export const openApiOf = (options: DocumentOptions = {}): Either<ReadonlyArray<Fault>, JsonSchema> => {
  const { title, version, bodies } = checkOptions('options of openApiOf', documentOptions, options)
  const schemas = schemasOf(bodies)
  if (schemas._tag === 'Left') return schemas
  const webhook = (name: string): JsonSchema => ({
    post: {
      operationId: name,
      parameters,
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
      },
      responses: {
        '2XX': { description: 'Taken. It is not sent again.' },
        '4XX': { description: 'Refused for good; 408, 425 and 429 are tried again.' },
        '5XX': { description: 'Tried again with growing delays, by default for 4 hours.' },
      },
    },
  })
  return right({
    openapi: '3.1.0',
    info: { title, version },
    webhooks: Object.fromEntries(Object.keys(bodies).map((name) => [name, webhook(name)])),
    components: { schemas: schemas.right },
  })
}
