/** Renders the chart into the repository: `npm run chart:render`. Needs helm. */
import { writeFileSync } from 'node:fs'
import { readOptions } from '../script-options.ts'
import { findHelm, RENDERED_FILES, render } from './chart.ts'

readOptions({
  name: 'chart:render',
  purpose: `Writes ${RENDERED_FILES.join(' and ')} from the Helm chart, with helm (on the path, or named by HELM).`,
  options: {},
})
const helm = findHelm()
if (helm === undefined) {
  console.error('helm is not installed; name one by HELM=/path')
  process.exit(1)
}
for (const file of RENDERED_FILES) writeFileSync(file, render(helm, file))
