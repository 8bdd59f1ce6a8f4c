/** Writes the generated documents: `npm run docs:reference`. */
import { writeFileSync } from 'node:fs'
import { configurationReference } from './configuration.ts'
import { errorReference } from './errors.ts'

writeFileSync('docs/configuration.md', configurationReference())
writeFileSync('docs/errors.md', errorReference())
