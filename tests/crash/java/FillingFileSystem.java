import java.io.IOException;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/** The local disk, which is full where a test says so: what is written there goes to a device that never has room. */
public class FillingFileSystem extends LocalFileSystem {
    private static final Path FULL = new Path("/dev/full");

    public FSDataOutputStream create(
        Path file, FsPermission permission, boolean overwrite, int buffer, short replication, long block,
        Progressable progress
    ) throws IOException {
        if (Holds.named(this.getConf().get(Holds.FOLDER), "write", file.toString(), "")) {
            return this.getRaw().append(FULL, buffer, progress);
        }
        return super.create(file, permission, overwrite, buffer, replication, block, progress);
    }
}
