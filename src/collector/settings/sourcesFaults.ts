import { isLeft } from 'fp-ts/lib/Either.js'
import { isRecord } from '../../internal/Fields.ts'
import type { Fault } from '../../outcome/Refusal.ts'
import { signerOf } from '../../signing/signerOf.ts'
import { secretFrom } from '../../signing/Secret.ts'
import type { Secret } from '../../signing/Secret.ts'
import { at, membersOf, repeated, switchFaults, textFaults, textsOf, unknownKeys } from './Checks.ts'

/** A text that two write keys share only if they are the same, and that tells nothing of them; undefined for what is no secret. */
const printOf = (key: unknown): string | undefined => {
  const secret = typeof key === 'string' ? secretFrom(key) : undefined
  if (secret !== undefined && isLeft(secret)) return undefined
  try {
    // What is no secret makes it throw.
    return signerOf(secret === undefined ? (key as Secret) : secret.right)('write key')
  } catch {
    return undefined
  }
}

const keyFaults = (key: unknown, path: string): ReadonlyArray<Fault> => {
  if (typeof key === 'string') {
    const made = secretFrom(key)
    if (isLeft(made)) return [at(path, made.left.message)]
    return key.includes(':')
      ? [at(path, 'must not have a colon: Basic authentication would cut it there')]
      : []
  }
  return printOf(key) === undefined ? [at(path, 'must be a string, or a secret from secretFrom')] : []
}

const sourceFaults = (source: unknown, index: number): ReadonlyArray<Fault> => {
  const path = `sources[${String(index)}]`
  if (!isRecord(source)) return [at(path, 'must be an object with an id and a writeKey')]
  return [
    ...textFaults(source['id'], `${path}.id`),
    ...keyFaults(source['writeKey'], `${path}.writeKey`),
    ...switchFaults(source['enabled'], `${path}.enabled`),
    ...switchFaults(source['deletions'], `${path}.deletions`),
    ...unknownKeys(source, ['id', 'writeKey', 'enabled', 'deletions'], `${path}.`),
  ]
}

/** What is wrong with the sources. */
export const sourcesFaults = (sources: unknown): ReadonlyArray<Fault> => {
  if (!Array.isArray(sources) || sources.length === 0)
    return [at('sources', 'must be an array of one source or more, each with an id and a writeKey')]
  const all: ReadonlyArray<unknown> = sources
  return [
    ...all.flatMap(sourceFaults),
    ...repeated(textsOf(membersOf(all, 'id')), (index) => `sources[${String(index)}].id`),
    ...repeated(membersOf(all, 'writeKey').map(printOf), (index) => `sources[${String(index)}].writeKey`),
  ]
}
