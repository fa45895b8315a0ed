import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** Paths of all files that belong to the repository, also new ones, from its root. */
export function repositoryFiles(): readonly string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    encoding: 'utf8',
  });
  return listed.split('\0').filter((path) => path !== '' && existsSync(path));
}

export function readText(path: string): string {
  return readFileSync(path, 'utf8');
}
