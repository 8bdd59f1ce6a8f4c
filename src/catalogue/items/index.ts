/**
 * The response schemas by name. Records name them, and the compiler refuses an unknown name. Only the OpenAPI document
 * needs the schemas themselves, so nothing else loads this file at run time.
 */
import { agentItems } from './agents.ts'
import { cacheItems } from './cache.ts'
import { inventoryItems } from './inventory.ts'
import { managerItems } from './manager.ts'
import { rulesetItems } from './ruleset.ts'
import { scanItems } from './scans.ts'
import { map, type Schema } from './schema.ts'

export const schemas = {
  ...agentItems,
  ...managerItems,
  ...rulesetItems,
  ...scanItems,
  ...inventoryItems,
  ...cacheItems,
  OpenApiDocument: map({}, 'An OpenAPI 3.1 document.'),
} as const satisfies Readonly<Record<string, Schema>>

export type SchemaName = keyof typeof schemas
