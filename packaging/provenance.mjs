// Writes where packages come from, as a statement of in-toto with SLSA provenance (slsa.dev/provenance/v1), and verifies it:
// node packaging/provenance.mjs FILE-OR-LAYOUT…                       prints the statement
// node packaging/provenance.mjs --key PRIVATE.pem FILE-OR-LAYOUT…     prints it signed, in an envelope (DSSE)
// node packaging/provenance.mjs --verify FILE [--public-key PUBLIC.pem] FILE-OR-LAYOUT…
// A layout is the folder of an OCI image: its digest is that of the image manifest. The same packages give the same statement.
import { execFileSync } from 'node:child_process'
import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'

const PAYLOAD_TYPE = 'application/vnd.in-toto+json'
/** The project has no address. BUILDER_ID names the system that has built, for example a job of continuous integration. */
const BUILD_TYPE = 'https://manager-edge.invalid/build/package/v1'
const builder = process.env.BUILDER_ID ?? 'https://manager-edge.invalid/builder/unnamed'

const { values: options, positionals: paths } = parseArgs({
  allowPositionals: true,
  options: { key: { type: 'string' }, verify: { type: 'string' }, 'public-key': { type: 'string' } },
})
if (paths.length === 0) fail('name the packages')
if (options.verify !== undefined) {
  verifyPackages(readStatement(options.verify, options['public-key']))
} else {
  const statement = JSON.stringify(statementOf(paths))
  console.log(options.key === undefined ? statement : JSON.stringify(envelopeOf(statement, options.key)))
}

function fail(reason) {
  console.error(reason)
  process.exit(1)
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Returns the digest of a file, or of the image in a layout: its first manifest. Exits if a file of the image has another digest. */
function digestOf(path) {
  if (!statSync(path).isDirectory()) return sha256(readFileSync(path))
  const readBlob = ({ digest }) => {
    const bytes = readFileSync(join(path, 'blobs', digest.replace(':', '/')))
    if (`sha256:${sha256(bytes)}` !== digest) fail(`${path}: ${digest} is damaged`)
    return bytes
  }
  const [image] = JSON.parse(readFileSync(join(path, 'index.json'), 'utf8')).manifests
  const { config, layers } = JSON.parse(readBlob(image))
  for (const each of [config, ...layers]) readBlob(each)
  return image.digest.replace('sha256:', '')
}

function subjectOf(path) {
  return { name: basename(path), digest: { sha256: digestOf(path) } }
}

function statementOf(packages) {
  const commit = readFileSync('dist/commit', 'utf8').trim()
  const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).trim()
  // Files of the packages may differ from those of the commit.
  const isModified = git('rev-parse', 'HEAD') !== commit || git('status', '--porcelain') !== ''
  if (isModified)
    console.error('warning: the sources differ from the commit of the build; the statement says "modified"')
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: packages.map(subjectOf),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: { commit, command: 'npm ci && npm run package' },
        internalParameters: { sourceDateEpoch: process.env.SOURCE_DATE_EPOCH, architecture: process.arch },
        resolvedDependencies: [
          { name: 'sources', digest: { gitCommit: commit }, annotations: { modified: isModified } },
          { name: 'package-lock.json', digest: { sha256: digestOf('package-lock.json') } },
          { name: 'node', digest: { sha256: digestOf(process.execPath) }, annotations: { version: process.version } },
        ],
      },
      runDetails: { builder: { id: builder } },
    },
  }
}

/** Returns the bytes that are signed: https://github.com/secure-systems-lab/dsse, "PAE". */
function signedBytes(payload) {
  const head = `DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `
  return Buffer.concat([Buffer.from(head), payload])
}

/** Keys of the curves 25519 and 448 have a digest of their own. */
function algorithmOf(key) {
  return /^ed\d+$/.test(key.asymmetricKeyType) ? null : 'sha256'
}

function envelopeOf(statement, file) {
  const key = createPrivateKey(readFileSync(file))
  const payload = Buffer.from(statement)
  const keyid = sha256(createPublicKey(key).export({ type: 'spki', format: 'der' }))
  const sig = sign(algorithmOf(key), signedBytes(payload), key).toString('base64')
  return { payloadType: PAYLOAD_TYPE, payload: payload.toString('base64'), signatures: [{ keyid, sig }] }
}

/** Returns the statement of a file. Exits if a public key is given and did not sign it. */
function readStatement(file, publicKey) {
  const content = JSON.parse(readFileSync(file, 'utf8'))
  const payload = content.payload === undefined ? undefined : Buffer.from(content.payload, 'base64')
  if (publicKey !== undefined) {
    const key = createPublicKey(readFileSync(publicKey))
    const isSigned = (content.signatures ?? []).some(({ sig }) =>
      verify(algorithmOf(key), signedBytes(payload), key, Buffer.from(sig, 'base64')),
    )
    if (!isSigned) fail(`${file} is not signed by ${publicKey}`)
  } else console.error(`warning: no --public-key: ${file} may be from any author`)
  return payload === undefined ? content : JSON.parse(payload.toString())
}

function verifyPackages({ subject, predicate }) {
  for (const { name, digest } of paths.map(subjectOf)) {
    const found = subject.find((each) => each.digest.sha256 === digest.sha256)
    if (found === undefined) fail(`${name}: the statement has no package with the digest ${digest.sha256}`)
    console.log(`${name}: commit ${predicate.buildDefinition.externalParameters.commit}`)
  }
}
