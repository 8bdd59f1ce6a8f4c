/** Runs a script of package.json on each of several versions of Node.js (`npm run versions`): the suite, or a measurement. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'
import { programOf, versionsOf } from './node-versions.ts'
import { readOptions } from './script-options.ts'

const { rest, refuse } = readOptions({
  name: 'versions',
  purpose: 'Runs a script of package.json on versions of Node.js, such as: 22,24 bench -- --only real',
  options: {},
  rest: 'VERSIONS SCRIPT [-- ARGUMENT…]',
})
const [list, script = '', ...parameters] = rest
const versions = list === undefined ? refuse('no versions of Node.js') : versionsOf(list, refuse)
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
if (!Object.hasOwn(scripts, script)) refuse(`no script "${script}" in package.json`)

const failed = versions.filter((version) => {
  const program = programOf(version)
  console.log(`# Node ${version}: npm run ${[script, ...parameters].join(' ')}`)
  // npm and each script find their Node.js on the path.
  const env = { ...process.env, PATH: [dirname(program), process.env.PATH].join(delimiter) }
  return spawnSync('npm', ['run', script, '--', ...parameters], { env, stdio: 'inherit' }).status !== 0
})
console.log(failed.length === 0 ? '# no version failed' : `# failed: Node ${failed.join(', ')}`)
process.exit(failed.length === 0 ? 0 : 1)
