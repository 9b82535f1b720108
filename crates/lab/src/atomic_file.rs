//! Files that are complete or absent, whatever ends the process.

use std::fs;
use std::io;
use std::path::Path;

/// Writes a file under another name and renames the complete file.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    fs::write(&partial, text)?;
    fs::rename(&partial, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_leaves_what_was_there() {
        let name = format!("evenkeel-atomic-file-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let file = folder.join("text.csv");
        fs::create_dir_all(folder.join("text.csv.partial")).unwrap();
        fs::write(&file, "before").unwrap();
        // A folder has the other name.
        write(&file, "after").unwrap_err();
        assert_eq!(fs::read_to_string(&file).unwrap(), "before");
        fs::remove_dir(folder.join("text.csv.partial")).unwrap();
        write(&file, "after").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "after");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
