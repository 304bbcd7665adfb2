import { generateKeyPairSync, sign } from 'node:crypto'
import type { TlsMisbehaviour } from './faults.ts'

/** A certificate with its private key, in PEM form. */
export interface TestCertificate {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  /** A receiver with it requires a client certificate of this authority. */
  readonly clientCa?: string | Buffer
}

/** PEM certificates for tests. All but `wrongName` and `client` are for `localhost` and `127.0.0.1`. */
export interface TestCertificates extends Readonly<
  Record<TlsMisbehaviour | 'valid' | 'client', { readonly cert: string; readonly key: string }>
> {
  /** The authority to trust, which signed `valid`, `wrongName`, `expired`, and `client` for a client. */
  readonly ca: string
}

/** A node of DER: its tag, its length, its contents. Nothing here is longer than 65,535 bytes. */
const der = (tag: number, ...contents: ReadonlyArray<Buffer | string | ReadonlyArray<number>>): Buffer => {
  const content = Buffer.concat(contents.map((each) => Buffer.from(each)))
  const { length } = content
  const long = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...(length < 128 ? [length] : long)]), content])
}

const sequence = (...contents: ReadonlyArray<Buffer>): Buffer => der(0x30, ...contents)
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
const commonName = (name: string): Buffer => sequence(der(0x31, sequence(oid('550403'), der(0x0c, name))))

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'))
const version3 = der(0xa0, der(0x02, [2]))
const yes = der(0x01, [0xff])
const authority = sequence(oid('551d13'), yes, der(0x04, sequence(yes)))
const hosts = (...all: ReadonlyArray<Buffer>): Buffer => sequence(oid('551d11'), der(0x04, sequence(...all)))
const forName = (name: string): Buffer => hosts(der(0x82, name))
const loopback = hosts(der(0x82, 'localhost'), der(0x87, [127, 0, 0, 1]))

let made = 0

type Issuer = Readonly<{ name: string; key: string }>

/** A certificate on P-256, from 2020 until the end of 2049 or `until`. Without an issuer it signs itself. */
const issue = (name: string, extension: Buffer, issuer?: Issuer, until = '491231235959Z') => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const fields = sequence(
    version3,
    der(0x02, [++made]),
    ecdsaWithSha256,
    commonName(issuer?.name ?? name),
    sequence(der(0x17, '200101000000Z'), der(0x17, until)),
    commonName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension)),
  )
  // A string of bits, of which none of the last byte is unused.
  const signature = der(0x03, [0], sign('sha256', fields, issuer?.key ?? privateKey))
  const text = sequence(fields, ecdsaWithSha256, signature).toString('base64')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${text.replaceAll(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

const make = (): TestCertificates => {
  const [name, stranger] = ['headrace test authority', 'unknown test authority']
  const { cert: ca, key } = issue(name, authority)
  const trusted = { name, key }
  return {
    ca,
    valid: issue('localhost', loopback, trusted),
    selfSigned: issue('localhost', loopback),
    unknownCa: issue('localhost', loopback, { name: stranger, key: issue(stranger, authority).key }),
    wrongName: issue('elsewhere.example', forName('elsewhere.example'), trusted),
    expired: issue('localhost', loopback, trusted, '210101000000Z'),
    client: issue('client', forName('client.example'), trusted),
  }
}

let certificates: TestCertificates | undefined

/** A test authority, and certificates right or wrong in one way. Made once a process; never stored. */
export const testCertificates = (): TestCertificates => (certificates ??= make())
