/** Writes the generated documents: `npm run docs:reference`. */
import { writeFileSync } from 'node:fs'
import { readOptions } from '../script-options.ts'
import { configurationReference } from './configuration.ts'
import { errorReference } from './errors.ts'

readOptions({
  name: 'docs:reference',
  purpose: 'Writes docs/configuration.md and docs/errors.md from the code.',
  options: {},
})
writeFileSync('docs/configuration.md', configurationReference())
writeFileSync('docs/errors.md', errorReference())
