/** A file of the package undici without types of its own. */
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici'

  export default Client
}
