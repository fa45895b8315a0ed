import { PROGRAM_ROOT } from '#shared/fs/program-root';
import { readTextFile } from '#shared/fs/text-file';

/** Release and source revision of the running program. */
export interface BuildInfo {
  readonly version: string;
  /** Forty hexadecimal digits, or `unknown` outside a checkout. */
  readonly commit: string;
  readonly branch: string;
}

/** Reads the version from `package.json` and the revision from Git's files. */
export function readBuildInfo(): BuildInfo {
  const manifest = JSON.parse(readTextFile(`${PROGRAM_ROOT}package.json`) ?? '{}') as { readonly version?: string };
  return { version: manifest.version ?? 'unknown', ...readHead(PROGRAM_ROOT) };
}

/** Commit and branch of the checkout in `root`, read from Git's own files. */
function readHead(root: string): Pick<BuildInfo, 'commit' | 'branch'> {
  const folder = gitFolder(root);
  const head = readTextFile(`${folder}/HEAD`)?.trim();
  if (head === undefined) return { commit: 'unknown', branch: 'unknown' };
  if (!head.startsWith('ref: ')) return { commit: head, branch: 'unknown' };
  const ref = head.slice('ref: '.length);
  // A linked work tree keeps branches in the common folder that it names.
  const common = readTextFile(`${folder}/commondir`)?.trim();
  const refs = common === undefined ? folder : `${folder}/${common}`;
  const packed = readTextFile(`${refs}/packed-refs`)
    ?.split('\n')
    .find((line) => line.endsWith(` ${ref}`));
  const commit = readTextFile(`${refs}/${ref}`)?.trim() ?? packed?.split(' ')[0] ?? 'unknown';
  return { commit, branch: ref.replace('refs/heads/', '') };
}

function gitFolder(root: string): string {
  // In a linked work tree `.git` is a file that names the folder; otherwise HEAD inside it can be read.
  if (readTextFile(`${root}.git/HEAD`) !== undefined) return `${root}.git`;
  const pointer = readTextFile(`${root}.git`);
  return pointer === undefined ? `${root}.git` : pointer.replace('gitdir: ', '').trim();
}
