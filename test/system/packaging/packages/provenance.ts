/** The statement of where the packages come from. */
import { createHash, generateKeyPairSync } from 'node:crypto'
import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Test } from 'tap'
import { installed } from '../../../support/installed.ts'
import { type Packages, run, writeKeys } from './build.ts'

interface Subject {
  readonly name: string
  readonly digest: { readonly sha256: string }
}

const openssl = installed({ variable: 'OPENSSL', names: ['openssl'], package: 'openssl' })
const provenance = (...args: string[]) => run(process.execPath, 'packaging/provenance.mjs', ...args)

export async function checkProvenance(t: Test, { folder, first, second, keys: curve }: Packages): Promise<void> {
  const { deb, rpm, layout, sbom, provenance: file } = first
  t.strictSame(first.printed.map((path) => basename(path)).sort(), readdirSync(first.output).sort())
  const { payload, payloadType, signatures } = JSON.parse(readFileSync(file, 'utf8'))
  const statement = JSON.parse(Buffer.from(payload, 'base64').toString())

  t.equal(
    JSON.stringify(statement),
    readFileSync(second.provenance, 'utf8').trim(),
    'the same sources give the same statement',
  )

  await t.test('it is a statement of in-toto with SLSA provenance', async (t) => {
    const commit = readFileSync('dist/commit', 'utf8').trim()
    t.match(statement, { _type: 'https://in-toto.io/Statement/v1', predicateType: 'https://slsa.dev/provenance/v1' })
    const { buildDefinition, runDetails } = statement.predicate
    t.match(buildDefinition.externalParameters, { commit, command: /npm run package$/ })
    t.equal(runDetails.builder.id, 'https://ci.example/jobs/1')
    const sum = (path: string) => run('sha256sum', path).split(' ')[0]
    const [sources, lock, node] = buildDefinition.resolvedDependencies
    t.equal(sources.digest.gitCommit, commit)
    const isModified = run('git', 'status', '--porcelain') !== '' || run('git', 'rev-parse', 'HEAD').trim() !== commit
    t.equal(sources.annotations.modified, isModified)
    t.equal(lock.digest.sha256, sum('package-lock.json'))
    t.equal(node.digest.sha256, sum(process.execPath))
  })

  await t.test('sha256sum finds the same digests', async (t) => {
    const { manifests } = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'))
    const [image = '', bill = ''] = manifests.map(({ digest }: { digest: string }) =>
      join(layout, 'blobs', digest.replace(':', '/')),
    )
    const files = [deb, rpm, image, bill, sbom]
    const sums = run('sha256sum', ...files)
      .trim()
      .split('\n')
    t.strictSame(
      statement.subject.map((each: Subject) => each.digest.sha256),
      sums.map((line) => line.split(' ')[0]),
    )
    t.strictSame(
      statement.subject.map((each: Subject) => each.name),
      [deb, rpm, layout, layout, sbom].map((path) => basename(path)),
    )
  })

  await t.test('openssl verifies the signature', async (t) => {
    const text = Buffer.from(payload, 'base64')
    const signed = join(folder, 'signed')
    writeFileSync(signed, `DSSEv1 ${payloadType.length} ${payloadType} ${text.length} ${text}`)
    writeFileSync(join(folder, 'signature'), Buffer.from(signatures[0].sig, 'base64'))
    const args = ['dgst', '-sha256', '-verify', curve.publicKey, '-signature', join(folder, 'signature')]
    t.equal(run(openssl, ...args, signed), 'Verified OK\n')
    appendFileSync(signed, ' ')
    t.throws(() => run(openssl, ...args, signed))
  })

  await t.test('the command verifies each package, and refuses other keys and changed packages', async (t) => {
    const other = writeKeys(folder, 'other', generateKeyPairSync('ed25519'))
    const check = (publicKey: string, ...paths: string[]) =>
      provenance('--verify', file, '--public-key', publicKey, ...paths)
    t.equal(check(curve.publicKey, deb, rpm, layout, sbom).match(/: commit [0-9a-f]{40}$/gm)?.length, 4)
    t.throws(() => check(other.publicKey, deb), /is not signed by/)
    appendFileSync(sbom, ' ')
    t.throws(() => check(curve.publicKey, sbom), /no package with the digest/)
    const damaged = join(folder, 'damaged')
    cpSync(layout, damaged, { recursive: true })
    const { layers } = JSON.parse(
      readFileSync(join(damaged, 'blobs/sha256', statement.subject[2].digest.sha256), 'utf8'),
    )
    appendFileSync(join(damaged, 'blobs', layers[0].digest.replace(':', '/')), ' ')
    t.throws(() => check(curve.publicKey, damaged), /is damaged/)
    rmSync(join(damaged, 'blobs', layers[0].digest.replace(':', '/')))
    t.throws(() => check(curve.publicKey, damaged), /is missing/)

    // The signed image stays. A client may choose the other one.
    const added = join(folder, 'added')
    cpSync(layout, added, { recursive: true })
    const blob = (sha256: string) => join(added, 'blobs/sha256', sha256)
    const manifest = JSON.parse(readFileSync(blob(statement.subject[2].digest.sha256), 'utf8'))
    const changed = JSON.stringify({ ...manifest, annotations: {} })
    const sha256 = createHash('sha256').update(changed).digest('hex')
    writeFileSync(blob(sha256), changed)
    const index = JSON.parse(readFileSync(join(added, 'index.json'), 'utf8'))
    index.manifests.push({ ...index.manifests[0], digest: `sha256:${sha256}` })
    writeFileSync(join(added, 'index.json'), JSON.stringify(index))
    t.throws(() => check(curve.publicKey, added), /no package with the digest/)

    // Without a key, and with one of another kind.
    const plain = join(folder, 'plain.json')
    writeFileSync(plain, provenance(deb))
    t.match(provenance('--verify', plain, deb), 'commit')
    t.throws(() => provenance('--verify', plain, '--public-key', curve.publicKey, deb), /is not signed by/)
    writeFileSync(plain, provenance('--key', other.key, deb))
    t.match(provenance('--verify', plain, '--public-key', other.publicKey, deb), 'commit')
  })

  await t.test('a build that cannot succeed says why at its start, and leaves no files', async (t) => {
    const output = join(folder, 'failed')
    t.throws(() => run('packaging/build', output, join(folder, 'none.pem')), /none\.pem must be a private key/)
    t.throws(() => run('packaging/build', output, curve.publicKey), /must be a private key/)
    t.throws(() => run('env', 'GIT_DIR=/nonexistent', 'packaging/build', output), /build in a clone/)
    t.notOk(existsSync(output))
    t.throws(() => run('packaging/rpm/build', deb), /File exists/, 'a file in place of the folder')
    t.throws(() => provenance('--verify', deb, deb), /must be a statement/)
    t.throws(() => provenance('--verify', file, '--public-key', file, deb), /must be a public key/)
  })
}
