/** Writes the generated documents: `npm run docs:reference`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { readOptions } from '../script-options.ts'
import { configurationReference } from './configuration.ts'
import { errorReference } from './errors.ts'
import { OPERATION_IDS, withNewOperations } from './operation-ids.ts'
import { SETTINGS_SCHEMA, settingsSchema } from './settings-schema.ts'

readOptions({
  name: 'docs:reference',
  purpose: `Writes docs/configuration.md, docs/errors.md and ${SETTINGS_SCHEMA} from the code, and adds new operations to ${OPERATION_IDS}.`,
  options: {},
})
writeFileSync('docs/configuration.md', configurationReference())
writeFileSync('docs/errors.md', errorReference())
writeFileSync(SETTINGS_SCHEMA, settingsSchema())
const pinned = readFileSync(OPERATION_IDS, 'utf8').trim().split('\n')
writeFileSync(OPERATION_IDS, `${withNewOperations(pinned).join('\n')}\n`)
