/** `headrace/schema`: JSON Schema and OpenAPI out of codecs, and Standard Schema both ways. @module */
export { openApiOf, webhookBodies, type DocumentOptions } from './documents.ts'
export { jsonSchemaOf, withSchema, type JsonSchema } from './jsonSchema.ts'
export { fromStandard, toStandard, type StandardSchema } from './standardSchema.ts'
