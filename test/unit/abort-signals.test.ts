import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

t.test(
  'no source file uses AbortSignal.any: Node 20 may collect a composed signal that still has listeners',
  async (t) => {
    const paths = ['src', 'packages']
      .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)))
      .filter((path) => /\.tsx?$/.test(path))
    t.ok(paths.length > 100, `${paths.length} files read`)
    const users = paths.filter((path) => {
      const code = readFileSync(path, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
      return code.includes('AbortSignal.any')
    })
    t.strictSame(users, [])
  },
)
