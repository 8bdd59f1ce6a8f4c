/** Tables of thousands of rows: reading them takes time in proportion to their rows, and what is wrong with them fills no log. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createRoles } from '../../../src/access/roles.ts'
import { loadConfig } from '../../../src/config/index.ts'

const FEW = 2_000
const MANY = 20_000
/** Of ten times as many rows: 10 in proportion, 100 if each row is compared with each other one. */
/** The collector of garbage and busy cores lengthen single runs: work out of proportion is so in each. */
const MAX_RUNS = 5
const MAX_FACTOR = 30
const MAX_CHARS = 64 * 1024

const head = `
cluster: { nodes: [{ name: m, type: master, url: 'http://127.0.0.1:1' }], credentials: { username: u, password: only-for-tests } }
access:
  users: users
`
const rowsOf = (count: number, row: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => row(at)).join('')

/** Files of `count` rows, by what is wrong with them. */
const worlds: Readonly<Record<string, (count: number) => { readonly users: string; readonly yaml: string }>> = {
  'roles of users that do not exist': (count) => ({
    users: '',
    yaml: `  roles:\n${rowsOf(count, (at) => `    user${at}: [reader]\n`)}`,
  }),
  'users without a role': (count) => ({ users: rowsOf(count, (at) => `user${at}:x\n`), yaml: '' }),
  'roles that do not exist': (count) => ({
    users: '',
    yaml: `  roles:\n${rowsOf(count, (at) => `    user${at}: [raeder]\n`)}`,
  }),
  'the same user in each row': (count) => ({
    users: '',
    yaml: `  roles:\n${rowsOf(count, () => '    user: [reader]\n')}`,
  }),
  'own roles without a permission': (count) => ({
    users: '',
    yaml: `  customRoles:\n${rowsOf(count, (at) => `    role${at}: [agents-read]\n`)}`,
  }),
  'unknown settings': (count) => ({ users: '', yaml: rowsOf(count, (at) => `  setting${at}: 1\n`) }),
}

for (const [name, world] of Object.entries(worlds)) {
  t.test(name, async (t) => {
    const folder = t.testdir()
    const load = async (count: number) => {
      const { users, yaml } = world(count)
      const file = join(folder, 'edge.yaml')
      writeFileSync(join(folder, 'users'), users)
      writeFileSync(file, head + yaml)
      const before = process.cpuUsage()
      const loaded = await loadConfig({ file, env: {} })
      const { user } = process.cpuUsage(before)
      return { user, lines: loaded.ok ? loaded.warnings : loaded.faults }
    }
    await load(FEW)
    let [few, many] = [await load(FEW), await load(MANY)]
    for (let run = 1; run < MAX_RUNS && many.user >= MAX_FACTOR * few.user; run += 1) {
      few = await load(FEW)
      many = await load(MANY)
    }
    t.ok(many.user < MAX_FACTOR * few.user, `${few.user / 1000} ms, then ${many.user / 1000} ms`)
    const chars = many.lines.join('\n').length
    t.ok(chars > 0 && chars < MAX_CHARS, `${many.lines.length} lines, ${chars} characters`)
  })
}

t.test('roles of many users are resolved in proportion', async (t) => {
  const resolve = (count: number) => {
    const users = Object.fromEntries(Array.from({ length: count }, (_, at) => [`user${at}`, ['reader', 'operator']]))
    const before = process.cpuUsage()
    createRoles(users, {})
    return process.cpuUsage(before).user
  }
  resolve(FEW)
  let [few, many] = [resolve(FEW), resolve(MANY)]
  for (let run = 1; run < MAX_RUNS && many >= MAX_FACTOR * Math.max(few, 1000); run += 1) {
    few = resolve(FEW)
    many = resolve(MANY)
  }
  t.ok(many < MAX_FACTOR * Math.max(few, 1000), `${few} µs, then ${many} µs`)
})
