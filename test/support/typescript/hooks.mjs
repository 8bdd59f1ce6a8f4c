// The hooks of https://nodejs.org/docs/latest-v20.x/api/module.html#hooks; Node runs them in a thread of their own.
// 0.1 ms for a file, so that nothing need be kept from one process to the next.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { transformSync } from 'rolldown/utils'

const options = { lang: 'ts', tsconfig: false, sourcemap: true, typescript: { onlyRemoveTypeImports: true } }

export async function load(url, context, next) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context)
  const path = fileURLToPath(url)
  const { code, map, errors } = transformSync(path, readFileSync(path, 'utf8'), options)
  const [error] = errors
  if (error) throw new SyntaxError(stripVTControlCharacters(error.codeframe ?? error.message))
  const lines = Buffer.from(JSON.stringify(map)).toString('base64')
  const source = `${code}\n//# sourceMappingURL=data:application/json;base64,${lines}\n`
  return { format: 'module', shortCircuit: true, source }
}
