export { holds, law, same } from '../support/law.ts'
export type { Law } from '../support/law.ts'
